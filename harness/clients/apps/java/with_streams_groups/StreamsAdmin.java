package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment.TaskIds;

/** What an administrator sees of a streams group, and does to it. */
final class StreamsAdmin implements Verbs {
    private final Settings settings;

    StreamsAdmin(Settings settings, Talk talk) {
        this.settings = settings;
    }

    @Override
    public void addTo(Map<String, Function<JsonNode, Object>> verbs) {
        verbs.put("describe the streams group", this::describe);
        verbs.put("delete the streams group", this::delete);
    }

    private Object describe(JsonNode arguments) {
        String group = arguments.get("group").asText();
        try (var admin = Admin.create(settings.ofAdmin())) {
            var told = Waiting.result(
                    admin.describeStreamsGroups(List.of(group)).describedGroups().get(group));
            var tasks = new TreeMap<String, List<Integer>>();
            told.members().forEach(each -> tasks.put(
                    // The library names its consumers after the application's client and thread.
                    each.clientId().replaceFirst("-StreamThread-.*$", ""),
                    List.of(
                            count(each.assignment().activeTasks()),
                            count(each.assignment().standbyTasks()),
                            count(each.assignment().warmupTasks()))));
            var listed = admin.listStreamsGroupOffsets(Map.of(group, new ListStreamsGroupOffsetsSpec()));
            var offsets = Waiting.result(listed.partitionsToOffsetAndMetadata(group)).entrySet().stream()
                    .map(each -> Partitions.withOffset(each.getKey(), each.getValue().offset()))
                    .toList();
            return Map.of("state", told.groupState().name(), "tasks", tasks, "offsets", offsets);
        }
    }

    private static int count(List<TaskIds> tasks) {
        return tasks.stream().mapToInt(each -> each.partitions().size()).sum();
    }

    private Object delete(JsonNode arguments) {
        try (var admin = Admin.create(settings.ofAdmin())) {
            Waiting.result(admin.deleteStreamsGroups(List.of(arguments.get("group").asText())).all());
        }
        return null;
    }
}
