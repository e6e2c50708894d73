package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;

/**
 * The application that every client is: it does what it is told, line by line, and tells what it sees.
 *
 * <p>What the lines are is told in harness/clients/apps/application.py, the same for libraries in Python.
 */
final class Application {
    private static final int POLL_RECORDS_MAX = 100;
    private static final long PAUSE_AFTER_ERROR_MS = 200;
    private static final long TAKE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(40);

    private final Settings settings;
    private final Talk talk;
    private final Map<String, Function<JsonNode, Object>> verbs = new HashMap<>();
    private final Map<TopicPartition, Long> acknowledged = new HashMap<>();
    private final Optional<Member> member;
    private GroupConsumer consumerMade;
    private RecordProducer producerMade;
    private boolean polls;
    private boolean works;
    private boolean ends;
    private Map<TopicPartition, Long> done = Map.of();

    Application(Settings settings, Talk talk) {
        this.settings = settings;
        this.talk = talk;
        learnToConsume();
        learnToProduce();
        verbs.put("describe the group", this::describe);
        learn("close", arguments -> close());
        Extensions.ofAdministrators(settings, talk).forEach(each -> each.addTo(verbs));
        member = Extensions.member(settings, talk);
        member.ifPresent(each -> each.addTo(verbs));
    }

    private void learnToConsume() {
        learn("subscribe", this::subscribe);
        learn("subscribe to a pattern", this::subscribeToPattern);
        learn("unsubscribe", arguments -> unsubscribe());
        learn("assign", this::assign);
        verbs.put("take", this::take);
        learn("stand still", arguments -> polls = false);
        learn("go on", arguments -> polls = true);
        learn("work", this::work);
        learn("process", arguments -> talk.event("processed", Map.of("values", consumer().handOver())));
        learn("commit", arguments -> consumer().commit());
        learn("seek", this::seek);
        learn("pause", arguments -> consumer().handle().pause(Partitions.in(arguments)));
        learn("resume", arguments -> consumer().handle().resume(Partitions.in(arguments)));
        verbs.put("positions", this::positions);
        verbs.put("committed", this::committed);
        verbs.put("lost commits", arguments -> lostCommits());
    }

    private void learnToProduce() {
        learn("produce", this::produce);
        learn("begin a transaction", arguments -> producer().begin());
        learn("forward", this::forward);
        learn("send offsets to the transaction", arguments -> producer().sendOffsets(consumer()));
        learn("commit the transaction", arguments -> producer().commit());
        learn("abort the transaction", arguments -> producer().abort());
    }

    private void learn(String verb, Consumer<JsonNode> act) {
        verbs.put(verb, arguments -> {
            act.accept(arguments);
            return null;
        });
    }

    /** Do what comes on standard input until told to close. */
    void run() throws IOException, InterruptedException {
        if (settings.isOfMember() && member.isEmpty()) {
            consumer(); // Making one takes a second, which no session is to wait for.
        }
        while (!ends) {
            JsonNode command = polls || member.map(Member::polls).orElse(false) ? talk.nextIfThere() : talk.next();
            if (command == null) {
                pollOn();
            } else {
                obey(command);
            }
        }
    }

    private void obey(JsonNode command) {
        int id = command.get("id").asInt();
        try {
            talk.answer(id, verbs.get(command.get("verb").asText()).apply(command.get("arguments")));
        } catch (KafkaException | IllegalStateException | IllegalArgumentException refusal) {
            talk.refuse(id, refusal);
        }
    }

    private void pollOn() throws InterruptedException {
        try {
            if (member.isPresent()) {
                member.get().poll();
                return;
            }
            consumer().poll(POLL_RECORDS_MAX);
            var consumed = consumer().consumed();
            if (works && !consumed.isEmpty() && !consumed.equals(done)) {
                consumer().handOver();
                consumer().commit();
                done = consumed;
                acknowledged.putAll(consumed);
            }
        } catch (FencedInstanceIdException error) {
            talk.error(error);
            polls = false; // Who polls on joins anew, and fences the one that it was fenced by.
        } catch (KafkaException | IllegalStateException error) {
            talk.error(error);
            Thread.sleep(PAUSE_AFTER_ERROR_MS);
        }
    }

    private GroupConsumer consumer() {
        if (consumerMade == null) {
            consumerMade = new GroupConsumer(settings, talk);
        }
        return consumerMade;
    }

    private RecordProducer producer() {
        if (producerMade == null) {
            producerMade = new RecordProducer(settings);
        }
        return producerMade;
    }

    private void subscribe(JsonNode arguments) {
        consumer().subscribe(Partitions.topics(arguments));
        polls = arguments.get("polls").asBoolean();
    }

    private void subscribeToPattern(JsonNode arguments) {
        consumer().subscribeToPattern(arguments.get("pattern").asText());
        polls = true;
    }

    private void unsubscribe() {
        consumer().handle().unsubscribe();
        polls = false; // KafkaConsumer refuses to poll for nothing.
    }

    private void assign(JsonNode arguments) {
        consumer().assign(Partitions.in(arguments));
        polls = true;
    }

    private Object take(JsonNode arguments) {
        int wanted = arguments.get("count").asInt();
        int came = 0;
        long began = System.nanoTime();
        while (came < wanted && System.nanoTime() - began < TAKE_TIMEOUT_NANOS) {
            came += consumer().poll(wanted - came);
        }
        polls = false;
        return came;
    }

    private void work(JsonNode arguments) {
        works = true;
        consumer().subscribe(Partitions.topics(arguments));
        polls = true;
    }

    private void seek(JsonNode arguments) {
        consumer().handle().seek(Partitions.in(arguments).get(0), arguments.get("offset").asLong());
    }

    private Object positions(JsonNode arguments) {
        return Partitions.in(arguments).stream()
                .map(each -> Partitions.withOffset(each, consumer().handle().position(each)))
                .toList();
    }

    private Object committed(JsonNode arguments) {
        var partitions = Partitions.in(arguments);
        var told = consumer().committed(partitions);
        return partitions.stream().map(each -> Partitions.withOffset(each, told.get(each))).toList();
    }

    private Object lostCommits() {
        var told = consumer().committed(acknowledged.keySet());
        var lost = new ArrayList<List<Object>>();
        acknowledged.forEach((partition, offset) -> {
            Long there = told.get(partition);
            if (there == null || there < offset) {
                var row = new ArrayList<>(Partitions.withOffset(partition, offset));
                row.add(there);
                lost.add(row);
            }
        });
        return lost;
    }

    private void produce(JsonNode arguments) {
        var records = new ArrayList<ProducerRecord<String, String>>();
        for (JsonNode each : arguments.get("records")) {
            records.add(RecordProducer.record(Partitions.of(each), each.get(2).asText()));
        }
        producer().produce(records);
    }

    private Object describe(JsonNode arguments) {
        return GroupAdmin.describe(settings, arguments.get("group").asText());
    }

    private void forward(JsonNode arguments) {
        var to = new TopicPartition(arguments.get("topic").asText(), 0);
        producer().produce(consumer().handOver().stream()
                .map(value -> RecordProducer.record(to, value))
                .toList());
    }

    private void close() {
        member.ifPresent(Member::close);
        if (consumerMade != null) {
            consumerMade.handle().close();
        }
        if (producerMade != null) {
            producerMade.close();
        }
        ends = true;
    }
}
