package conformance.client;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** What an administrator sees of a group. */
final class GroupAdmin {
    private GroupAdmin() {}

    /** Return its state, its assignor, what its members own, and its offsets with the ends of the logs. */
    static Map<String, Object> describe(Settings settings, String group) {
        try (var admin = Admin.create(settings.ofAdmin())) {
            var described = admin.describeConsumerGroups(List.of(group)).describedGroups();
            var told = Waiting.result(described.get(group));
            var committed = Waiting.result(
                    admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
            var latest = new HashMap<TopicPartition, OffsetSpec>();
            committed.keySet().forEach(each -> latest.put(each, OffsetSpec.latest()));
            var ends = Waiting.result(admin.listOffsets(latest).all());
            return Map.of(
                    "state", state(told),
                    "assignor", told.partitionAssignor(),
                    "members", members(told),
                    "offsets", offsets(committed, ends));
        }
    }

    @SuppressWarnings({"deprecation", "removal"}) // What replaces it is not there before 4.0.
    private static String state(ConsumerGroupDescription told) {
        return told.state().name();
    }

    private static List<List<Object>> members(ConsumerGroupDescription told) {
        return told.members().stream()
                .sorted(Comparator.comparing(MemberDescription::clientId))
                .map(each -> List.<Object>of(
                        each.clientId(), Partitions.pairs(each.assignment().topicPartitions())))
                .toList();
    }

    private static List<List<Object>> offsets(
            Map<TopicPartition, OffsetAndMetadata> committed,
            Map<TopicPartition, ListOffsetsResultInfo> ends) {
        var told = new ArrayList<List<Object>>();
        committed.forEach((partition, offset) -> {
            var row = new ArrayList<>(Partitions.withOffset(partition, offset.offset()));
            row.add(ends.get(partition).offset());
            told.add(row);
        });
        return told;
    }
}
