package conformance.client;

import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Numbers the records of each partition that a script wrote to, in a store: `orders-0#7` becomes `orders-0#7=8`. */
final class Numbering extends ContextualProcessor<String, String, String, String> {
    static final String STORE = "numbers";

    private final Talk talk;
    private KeyValueStore<String, Long> numbers;

    Numbering(Talk talk) {
        this.talk = talk;
    }

    /** Return the partition that a script wrote a value to. */
    static String partitionOf(String value) {
        return value.substring(0, value.indexOf('#'));
    }

    @Override
    public void init(ProcessorContext<String, String> context) {
        super.init(context);
        numbers = context.getStateStore(STORE);
    }

    @Override
    public void process(Record<String, String> record) {
        String partition = partitionOf(record.value());
        Long before = numbers.get(partition);
        long number = before == null ? 1 : before + 1;
        numbers.put(partition, number);
        var from = context().recordMetadata().orElseThrow();
        talk.event("delivered", Map.of(
                "records", List.of(List.of(from.topic(), from.partition(), from.offset(), record.value()))));
        context().forward(record.withKey(partition).withValue(record.value() + "=" + number));
    }
}
