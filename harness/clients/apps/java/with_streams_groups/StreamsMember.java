package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.state.Stores;

/** A Kafka Streams application that numbers the records of each partition, and what it owns of its topics. */
final class StreamsMember implements Member {
    private static final long PAUSE_MS = 50;

    private final Settings settings;
    private final Talk talk;
    private final Set<TopicPartition> owned = new HashSet<>();
    private Set<String> sources = Set.of();
    private KafkaStreams streams;

    StreamsMember(Settings settings, Talk talk) {
        this.settings = settings;
        this.talk = talk;
    }

    @Override
    public void addTo(Map<String, Function<JsonNode, Object>> verbs) {
        verbs.put("stream", this::stream);
    }

    private Object stream(JsonNode arguments) {
        sources = Set.copyOf(Partitions.topics(arguments));
        var topology = topology(arguments.get("topic").asText(), arguments.get("regroups").asBoolean());
        streams = new KafkaStreams(topology, new StreamsConfig(settings.ofStreams()));
        streams.setUncaughtExceptionHandler(error -> {
            talk.error(error instanceof RuntimeException known ? known : new IllegalStateException(error));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return null;
    }

    private Topology topology(String sink, boolean regroups) {
        var strings = Serdes.String();
        var builder = new StreamsBuilder();
        builder.addStateStore(Stores.keyValueStoreBuilder(
                Stores.inMemoryKeyValueStore(Numbering.STORE), strings, Serdes.Long()));
        var records = builder.stream(sources, Consumed.with(strings, strings));
        if (regroups) {
            records = records.selectKey((key, value) -> Numbering.partitionOf(value))
                    .repartition(Repartitioned.with(strings, strings).withName("regrouped"));
        }
        records.process(() -> new Numbering(talk), Numbering.STORE).to(sink, Produced.with(strings, strings));
        return builder.build();
    }

    @Override
    public boolean polls() {
        return streams != null;
    }

    /** Tell what it came to own and what it owns no more. */
    @Override
    public void poll() {
        var now = new HashSet<TopicPartition>();
        for (var thread : streams.metadataForLocalThreads()) {
            thread.activeTasks().forEach(task -> now.addAll(task.topicPartitions()));
        }
        now.removeIf(each -> !sources.contains(each.topic()));
        change("revoked", minus(owned, now));
        change("assigned", minus(now, owned));
        owned.clear();
        owned.addAll(now);
        Waiting.pause(PAUSE_MS);
    }

    private static List<TopicPartition> minus(Set<TopicPartition> these, Set<TopicPartition> those) {
        return these.stream().filter(each -> !those.contains(each)).toList();
    }

    private void change(String kind, List<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            talk.event(kind, Map.of("partitions", Partitions.pairs(partitions)));
        }
    }

    @Override
    public void close() {
        if (streams != null) {
            streams.close();
        }
    }
}
