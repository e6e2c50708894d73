package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ShareMemberDescription;
import org.apache.kafka.common.TopicPartition;

/** What an administrator sees of a share group, and does to it. */
final class ShareAdmin implements Verbs {
    private final Settings settings;

    ShareAdmin(Settings settings, Talk talk) {
        this.settings = settings;
    }

    @Override
    public void addTo(Map<String, Function<JsonNode, Object>> verbs) {
        verbs.put("describe the share group", this::describe);
        verbs.put("rewind the share group", this::rewind);
        verbs.put("delete the share group", this::delete);
    }

    private Object describe(JsonNode arguments) {
        String group = arguments.get("group").asText();
        try (var admin = Admin.create(settings.ofAdmin())) {
            var told = Waiting.result(
                    admin.describeShareGroups(List.of(group)).describedGroups().get(group));
            var members = told.members().stream()
                    .sorted(Comparator.comparing(ShareMemberDescription::clientId))
                    .map(each -> List.of(
                            each.clientId(), Partitions.pairs(each.assignment().topicPartitions())))
                    .toList();
            return Map.of(
                    "state", told.groupState().name(),
                    "members", members,
                    "offsets", ShareOffsets.of(admin, group));
        }
    }

    private Object rewind(JsonNode arguments) {
        var offsets = new HashMap<TopicPartition, Long>();
        Partitions.in(arguments).forEach(each -> offsets.put(each, arguments.get("offset").asLong()));
        try (var admin = Admin.create(settings.ofAdmin())) {
            Waiting.result(admin.alterShareGroupOffsets(arguments.get("group").asText(), offsets).all());
        }
        return null;
    }

    private Object delete(JsonNode arguments) {
        try (var admin = Admin.create(settings.ofAdmin())) {
            Waiting.result(admin.deleteShareGroups(List.of(arguments.get("group").asText())).all());
        }
        return null;
    }
}
