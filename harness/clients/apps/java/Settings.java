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
    private static final String OF_PRODUCERS_ALONE = "transactional_id";

    private final Map<String, String> given = new HashMap<>();

    Settings(JsonNode settings) {
        settings.fieldNames().forEachRemaining(name -> given.put(name, settings.get(name).asText()));
    }

    boolean isOfMember() {
        return given.containsKey("group_id");
    }

    boolean isOfConsumerGroup() {
        return "consumer".equals(given.get("group_protocol"));
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
