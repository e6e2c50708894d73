import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Answers what Kafka's own assignors make of groups, which come as lines of fields between tabs.
 * beside_kafka.py writes the questions and reads the answers.
 */
public final class AssignorAnswers {
    private final Map<Uuid, Integer> numPartitions = new HashMap<>();
    private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    private final Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();

    public static void main(String[] args) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        AssignorAnswers group = new AssignorAnswers();
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] fields = line.split("\t", -1);
            switch (fields[0]) {
                case "topic" -> group.numPartitions.put(Uuid.fromString(fields[1]), Integer.valueOf(fields[2]));
                case "member" -> group.put(fields);
                case "remove" -> group.remove(fields[1]);
                case "assign" -> {
                    group.answer(fields[1], SubscriptionType.valueOf(fields[2]), answers);
                    group = new AssignorAnswers();
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        answers.flush();
    }

    private void put(String[] fields) {
        List<Uuid> subscribed = split(fields[4], ",").stream().map(Uuid::fromString).toList();
        Assignment assignment = assignment(fields[6]);
        assignment.partitions().forEach((topicId, partitions) -> partitions.forEach(partition ->
            owners.computeIfAbsent(topicId, __ -> new HashMap<>()).put(partition, fields[1])));
        members.put(fields[1], new MemberSubscriptionAndAssignmentImpl(
            optional(fields[3]),
            optional(fields[2]),
            new Subscribed(subscribed, subscribed.size() + Integer.parseInt(fields[5])),
            assignment
        ));
    }

    private void remove(String memberId) {
        members.remove(memberId);
        owners.values().forEach(partitions -> partitions.values().removeIf(memberId::equals));
    }

    private static Assignment assignment(String text) {
        ConsumerGroupTargetAssignmentMemberValue record = new ConsumerGroupTargetAssignmentMemberValue();
        for (String topic : split(text, ";")) {
            String[] parts = topic.split(":");
            record.topicPartitions().add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(Uuid.fromString(parts[0]))
                .setPartitions(split(parts[1], ",").stream().map(Integer::valueOf).toList()));
        }
        return Assignment.fromRecord(record);
    }

    private void answer(String name, SubscriptionType type, PrintStream answers) {
        ConsumerGroupPartitionAssignor assignor = name.equals("range") ? new RangeAssignor() : new UniformAssignor();
        try {
            GroupAssignment made = assignor.assign(
                new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners), describer());
            for (String memberId : members.keySet()) {
                MemberAssignment assignment = made.members().get(memberId);
                answers.println("has\t" + memberId + "\t" + (assignment == null ? "" : text(assignment.partitions())));
            }
            answers.println("end");
        } catch (RuntimeException error) {
            answers.println("error\t" + error.getClass().getSimpleName() + "\t" + error.getMessage());
        }
    }

    private static String text(Map<Uuid, Set<Integer>> partitions) {
        return partitions.entrySet().stream()
            .map(entry -> entry.getKey() + ":" + entry.getValue().stream().map(String::valueOf).collect(Collectors.joining(",")))
            .collect(Collectors.joining(";"));
    }

    // Releases differ in the interface's methods, so it is answered by name.
    private SubscribedTopicDescriber describer() {
        return (SubscribedTopicDescriber) Proxy.newProxyInstance(
            AssignorAnswers.class.getClassLoader(),
            new Class<?>[] {SubscribedTopicDescriber.class},
            (proxy, method, arguments) -> {
                if (method.getName().equals("numPartitions")) {
                    return numPartitions.getOrDefault((Uuid) arguments[0], -1);
                }
                throw new UnsupportedOperationException(method.getName());
            });
    }

    private static Optional<String> optional(String text) {
        return text.isEmpty() ? Optional.empty() : Optional.of(text);
    }

    private static List<String> split(String text, String separator) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(separator));
    }

    /** Like TopicIds: topics that do not exist count, and are passed over. */
    private static final class Subscribed extends AbstractSet<Uuid> {
        private final List<Uuid> topicIds;
        private final int size;

        private Subscribed(List<Uuid> topicIds, int size) {
            this.topicIds = topicIds;
            this.size = size;
        }

        @Override
        public Iterator<Uuid> iterator() {
            return topicIds.iterator();
        }

        @Override
        public int size() {
            return size;
        }
    }
}
