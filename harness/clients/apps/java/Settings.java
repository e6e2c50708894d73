package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A client's settings, which bear the names of Kafka's properties in snake case. */
final class Settings {
    /** How long the library may try before an answer to a command is a timeout. */
    static final int TIMEOUT_MS = 30_000;

    private static final int REQUEST_TIMEOUT_MS = 10_000;
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
            "range", RangeAssignor.class,
            "roundrobin", RoundRobinAssignor.class,
            "sticky", StickyAssignor.class,
            "cooperative-sticky", CooperativeStickyAssignor.class);
    private static final Set<String> OF_ALL = Set.of("bootstrap_servers", "client_id");
    private static final String PROTOCOL = "group_protocol";
    private static final String OF_PRODUCERS_ALONE = "transactional_id";

    private final Map<String, String> given = new HashMap<>();

    Settings(JsonNode settings) {
        settings.fieldNames().forEachRemaining(name -> given.put(name, settings.get(name).asText()));
    }

    boolean isOfMember() {
        return given.containsKey("group_id");
    }

    /** Return the protocol of its group, `classic` where none is named. */
    String protocol() {
        return given.getOrDefault(PROTOCOL, "classic");
    }

    boolean isOfConsumerGroup() {
        return protocol().equals("consumer");
    }

    boolean acknowledgesExplicitly() {
        return "explicit".equals(given.get("share_acknowledgement_mode"));
    }

    private boolean isTransactional() {
        return given.containsKey(OF_PRODUCERS_ALONE);
    }

    Map<String, Object> ofConsumer() {
        var properties = new HashMap<String, Object>();
        given.forEach((name, value) -> {
            if (name.equals("assignor")) {
                properties.put("partition.assignment.strategy", ASSIGNORS.get(value).getName());
            } else if (!name.equals(OF_PRODUCERS_ALONE)) {
                properties.put(property(name), value);
            }
        });
        properties.put("key.deserializer", StringDeserializer.class);
        properties.put("value.deserializer", StringDeserializer.class);
        properties.put("enable.auto.commit", false);
        properties.put("allow.auto.create.topics", false);
        properties.put("fetch.max.wait.ms", 100);
        properties.put("max.poll.records", 100);
        properties.put("default.api.timeout.ms", TIMEOUT_MS);
        return properties;
    }

    /** What share groups leave to their members; all else is of the group. */
    Map<String, Object> ofShareConsumer() {
        var properties = withoutProtocol();
        properties.put("key.deserializer", StringDeserializer.class);
        properties.put("value.deserializer", StringDeserializer.class);
        properties.put("fetch.max.wait.ms", 100);
        properties.putIfAbsent("max.poll.records", 100);
        properties.put("default.api.timeout.ms", TIMEOUT_MS);
        return properties;
    }

    Map<String, Object> ofStreams() {
        var properties = withoutProtocol();
        properties.put("application.id", properties.remove("group.id"));
        properties.put(property(PROTOCOL), protocol());
        properties.put("state.dir", given.get("client_id") + "-state");
        properties.put("commit.interval.ms", 100);
        properties.put("auto.offset.reset", "earliest");
        properties.put("fetch.max.wait.ms", 100);
        return properties;
    }

    private Map<String, Object> withoutProtocol() {
        var properties = new HashMap<String, Object>();
        given.forEach((name, value) -> properties.put(property(name), value));
        properties.remove(property(PROTOCOL));
        return properties;
    }

    Map<String, Object> ofProducer() {
        var properties = ofAll();
        if (isTransactional()) {
            properties.put(property(OF_PRODUCERS_ALONE), given.get(OF_PRODUCERS_ALONE));
        }
        properties.put("key.serializer", StringSerializer.class);
        properties.put("value.serializer", StringSerializer.class);
        properties.put("linger.ms", 0);
        properties.put("request.timeout.ms", REQUEST_TIMEOUT_MS);
        properties.put("delivery.timeout.ms", TIMEOUT_MS);
        properties.put("max.block.ms", TIMEOUT_MS);
        return properties;
    }

    Map<String, Object> ofAdmin() {
        var properties = ofAll();
        properties.put("request.timeout.ms", REQUEST_TIMEOUT_MS);
        properties.put("default.api.timeout.ms", TIMEOUT_MS);
        return properties;
    }

    private Map<String, Object> ofAll() {
        var properties = new HashMap<String, Object>();
        OF_ALL.forEach(name -> properties.put(property(name), given.get(name)));
        return properties;
    }

    private static String property(String name) {
        return name.replace('_', '.');
    }
}
