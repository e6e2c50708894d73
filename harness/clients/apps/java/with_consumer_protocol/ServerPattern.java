package conformance.client;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;

/** Subscribing to a pattern that the broker compares with its topics (KIP-848), which Kafka has from 4.0 on. */
final class ServerPattern {
    private ServerPattern() {}

    static void subscribe(KafkaConsumer<?, ?> consumer, String pattern, ConsumerRebalanceListener listener) {
        consumer.subscribe(new SubscriptionPattern(pattern), listener);
    }
}
