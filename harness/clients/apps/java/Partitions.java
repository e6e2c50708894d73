package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Topics and partitions as JSON has them, the latter `[topic, number]`, and as the library does. */
final class Partitions {
    private Partitions() {}

    static List<TopicPartition> in(JsonNode arguments) {
        var partitions = new ArrayList<TopicPartition>();
        arguments.get("partitions").forEach(each -> partitions.add(of(each)));
        return partitions;
    }

    static List<String> topics(JsonNode arguments) {
        var topics = new ArrayList<String>();
        arguments.get("topics").forEach(each -> topics.add(each.asText()));
        return topics;
    }

    static TopicPartition of(JsonNode pair) {
        return new TopicPartition(pair.get(0).asText(), pair.get(1).asInt());
    }

    static List<Object> pair(TopicPartition partition) {
        return List.of(partition.topic(), partition.partition());
    }

    static List<List<Object>> pairs(Collection<TopicPartition> partitions) {
        return partitions.stream().map(Partitions::pair).toList();
    }

    /** Return `[topic, number, offset]`, the offset null where there is none. */
    static List<Object> withOffset(TopicPartition partition, Long offset) {
        var told = new ArrayList<Object>(pair(partition));
        told.add(offset);
        return told;
    }

    static Map<TopicPartition, OffsetAndMetadata> toCommit(Map<TopicPartition, Long> offsets) {
        var committed = new HashMap<TopicPartition, OffsetAndMetadata>();
        offsets.forEach((partition, offset) -> committed.put(partition, new OffsetAndMetadata(offset)));
        return committed;
    }
}
