package conformance.client;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** The place of what Kafka has from 4.0 on: a pattern that the broker compares with its topics (KIP-848). */
final class ServerPattern {
    private ServerPattern() {}

    static void subscribe(KafkaConsumer<?, ?> consumer, String pattern, ConsumerRebalanceListener listener) {
        throw new UnsupportedOperationException("a pattern for the broker needs Kafka 4.0");
    }
}
