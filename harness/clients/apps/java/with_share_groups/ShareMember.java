package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;

/** A member of a share group, and the records that it was delivered and has not acknowledged. */
final class ShareMember implements Member {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long TAKE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(40);

    private final Talk talk;
    private final boolean isExplicit;
    private final KafkaShareConsumer<String, String> consumer;
    private final List<ConsumerRecord<String, String>> inHand = new ArrayList<>();
    private boolean polls;
    private boolean works;

    ShareMember(Settings settings, Talk talk) {
        this.talk = talk;
        this.isExplicit = settings.acknowledgesExplicitly();
        this.consumer = new KafkaShareConsumer<>(settings.ofShareConsumer());
        // What is refused while nobody waits for it is told as an error.
        consumer.setAcknowledgementCommitCallback((offsets, error) -> {
            if (error != null) {
                talk.error((RuntimeException) error);
            }
        });
    }

    @Override
    public void addTo(Map<String, Function<JsonNode, Object>> verbs) {
        learn(verbs, "subscribe", this::subscribe);
        learn(verbs, "unsubscribe", arguments -> unsubscribe());
        verbs.put("take", this::take);
        learn(verbs, "stand still", arguments -> polls = false);
        learn(verbs, "go on", arguments -> polls = true);
        learn(verbs, "work", this::work);
        learn(verbs, "acknowledge", this::acknowledge);
        learn(verbs, "commit", arguments -> commit());
    }

    private static void learn(
            Map<String, Function<JsonNode, Object>> verbs, String verb, Consumer<JsonNode> act) {
        verbs.put(verb, arguments -> {
            act.accept(arguments);
            return null;
        });
    }

    @Override
    public boolean polls() {
        return polls;
    }

    /** Poll once; what is still in hand was processed meanwhile, and is accepted. */
    @Override
    public void poll() {
        accept();
        int came = receive();
        if (works && came > 0) {
            // A member that is killed meanwhile has not acknowledged anything yet.
            LockSupport.parkNanos(WORK_NANOS);
            accept();
            talk.event(
                    "acknowledging",
                    Map.of("values", inHand.stream().map(ConsumerRecord::value).toList()));
            var values = values(consumer.commitSync(), inHand);
            inHand.clear();
            talk.event("processed", Map.of("values", values));
        }
    }

    private void accept() {
        if (isExplicit) {
            inHand.forEach(consumer::acknowledge);
        }
        if (!works) {
            inHand.clear();
        }
    }

    /** Return the values of records whose partition's acknowledgements were not refused. */
    private static List<String> values(
            Map<TopicIdPartition, ? extends java.util.Optional<?>> committed,
            List<ConsumerRecord<String, String>> records) {
        Set<String> refused = new HashSet<>();
        committed.forEach((partition, error) -> {
            if (error.isPresent()) {
                refused.add(partition.topicPartition().toString());
            }
        });
        return records.stream()
                .filter(each -> !refused.contains(each.topic() + "-" + each.partition()))
                .map(ConsumerRecord::value)
                .toList();
    }

    private int receive() {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        consumer.poll(POLL).forEach(records::add);
        inHand.addAll(records);
        if (!records.isEmpty()) {
            talk.event("delivered", Map.of("records", records.stream().map(ShareMember::told).toList()));
        }
        return records.size();
    }

    private static List<Object> told(ConsumerRecord<String, String> record) {
        return List.of(
                record.topic(), record.partition(), record.offset(), record.value(), record.deliveryCount().get());
    }

    private void subscribe(JsonNode arguments) {
        consumer.subscribe(Partitions.topics(arguments));
        polls = arguments.get("polls").asBoolean();
    }

    private void unsubscribe() {
        consumer.unsubscribe();
        polls = false;
        inHand.clear();
    }

    private void work(JsonNode arguments) {
        works = true;
        consumer.subscribe(Partitions.topics(arguments));
        polls = true;
    }

    private Object take(JsonNode arguments) {
        int wanted = arguments.get("count").asInt();
        int came = 0;
        long began = System.nanoTime();
        while (came < wanted && System.nanoTime() - began < TAKE_TIMEOUT_NANOS) {
            came += receive();
        }
        polls = false;
        return came;
    }

    /** Acknowledge those of the records in hand that are named, or all. */
    private void acknowledge(JsonNode arguments) {
        var type = AcknowledgeType.valueOf(arguments.get("type").asText().toUpperCase(Locale.ROOT));
        var named = new HashSet<String>();
        arguments.get("values").forEach(each -> named.add(each.asText()));
        var chosen = inHand.stream()
                .filter(each -> named.isEmpty() || named.contains(each.value()))
                .toList();
        chosen.forEach(each -> consumer.acknowledge(each, type));
        inHand.removeAll(chosen);
    }

    private void commit() {
        var committed = consumer.commitSync();
        if (!isExplicit) {
            inHand.clear();
        }
        committed.values().forEach(error -> error.ifPresent(refusal -> {
            throw refusal;
        }));
    }

    @Override
    public void close() {
        consumer.close();
    }
}
