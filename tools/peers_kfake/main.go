// A kfake broker on one port of the loopback interface, until it is interrupted.
package main

import (
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 9092, "the port to listen on")
	flag.Parse()
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(*port),
		kfake.DefaultNumPartitions(1),
		// Kafka's default; kfake's own is lower.
		kfake.BrokerConfigs(map[string]string{"group.max.session.timeout.ms": "1800000"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	<-interrupted
}
