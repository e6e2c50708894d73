package conformance.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** A producer that waits until what it writes is acknowledged. */
final class RecordProducer {
    private final KafkaProducer<String, String> producer;
    private boolean isInitialized;

    RecordProducer(Settings settings) {
        this.producer = new KafkaProducer<>(settings.ofProducer());
    }

    static ProducerRecord<String, String> record(TopicPartition partition, String value) {
        return new ProducerRecord<>(partition.topic(), partition.partition(), null, value);
    }

    void produce(List<ProducerRecord<String, String>> records) {
        var acknowledged = new ArrayList<Future<?>>();
        records.forEach(each -> acknowledged.add(producer.send(each)));
        acknowledged.forEach(Waiting::result);
    }

    /** Begin a transaction; the first time, make the transactional id ours. */
    void begin() {
        if (!isInitialized) {
            producer.initTransactions();
            isInitialized = true;
        }
        producer.beginTransaction();
    }

    void sendOffsets(GroupConsumer of) {
        producer.sendOffsetsToTransaction(Partitions.toCommit(of.consumed()), of.handle().groupMetadata());
    }

    void commit() {
        producer.commitTransaction();
    }

    void abort() {
        producer.abortTransaction();
    }

    void close() {
        producer.close();
    }
}
