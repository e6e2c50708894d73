package conformance.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** A consumer, what it was told that it owns, and what it has taken. */
final class GroupConsumer implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);

    private final Talk talk;
    private final boolean isOfConsumerGroup;
    private final KafkaConsumer<String, String> consumer;
    private final Set<TopicPartition> owned = new HashSet<>();
    private final Map<TopicPartition, Long> nextOffsets = new HashMap<>();
    private final List<String> taken = new ArrayList<>();

    GroupConsumer(Settings settings, Talk talk) {
        this.talk = talk;
        this.isOfConsumerGroup = settings.isOfConsumerGroup();
        this.consumer = new KafkaConsumer<>(settings.ofConsumer());
    }

    KafkaConsumer<String, String> handle() {
        return consumer;
    }

    void subscribe(List<String> topics) {
        consumer.subscribe(topics, this);
    }

    /** Subscribe to what matches: the broker decides in a consumer group, and the client elsewhere. */
    void subscribeToPattern(String pattern) {
        if (isOfConsumerGroup) {
            ServerPattern.subscribe(consumer, pattern, this);
        } else {
            consumer.subscribe(Pattern.compile(pattern), this);
        }
    }

    void assign(List<TopicPartition> partitions) {
        consumer.assign(partitions);
        owned.clear();
        owned.addAll(partitions);
    }

    /** Give the library its turn, take no more than so many records, and return how many. */
    int poll(int recordsMax) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        var passedBy = new HashMap<TopicPartition, Long>();
        for (var each : consumer.poll(POLL)) {
            var partition = new TopicPartition(each.topic(), each.partition());
            if (records.size() < recordsMax) {
                records.add(each);
                nextOffsets.put(partition, each.offset() + 1);
                taken.add(each.value());
            } else {
                passedBy.putIfAbsent(partition, each.offset());
            }
        }
        passedBy.forEach(consumer::seek);
        if (!records.isEmpty()) {
            talk.event("delivered", Map.of("records", records.stream().map(GroupConsumer::told).toList()));
        }
        return records.size();
    }

    private static List<Object> told(ConsumerRecord<String, String> record) {
        return List.of(record.topic(), record.partition(), record.offset(), record.value());
    }

    /** Return the values that were taken since the last time; they are the caller's now. */
    List<String> handOver() {
        var values = List.copyOf(taken);
        taken.clear();
        return values;
    }

    /** Return the next offset of each partition that it owns and had records of. */
    Map<TopicPartition, Long> consumed() {
        var consumed = new HashMap<>(nextOffsets);
        consumed.keySet().retainAll(owned);
        return consumed;
    }

    /** Return what the group has committed; a partition without is absent. */
    Map<TopicPartition, Long> committed(Collection<TopicPartition> partitions) {
        var offsets = new HashMap<TopicPartition, Long>();
        consumer.committed(new HashSet<>(partitions)).forEach((partition, told) -> {
            if (told != null) {
                offsets.put(partition, told.offset());
            }
        });
        return offsets;
    }

    void commit() {
        consumer.commitSync(Partitions.toCommit(consumed()));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        owned.addAll(partitions);
        tell("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        giveUp("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        giveUp("lost", partitions);
    }

    private void giveUp(String kind, Collection<TopicPartition> partitions) {
        owned.removeAll(partitions);
        partitions.forEach(nextOffsets::remove);
        tell(kind, partitions);
    }

    private void tell(String kind, Collection<TopicPartition> partitions) {
        talk.event(kind, Map.of("partitions", Partitions.pairs(partitions)));
    }
}
