package conformance.client;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.common.KafkaException;

/** Waiting for what the library does on a thread of its own. */
final class Waiting {
    private Waiting() {}

    static void pause(long durationMs) {
        try {
            Thread.sleep(durationMs);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Return what came of it, or throw what the library would have thrown had it done it here. */
    static <T> T result(Future<T> future) {
        try {
            return future.get();
        } catch (ExecutionException error) {
            throw new KafkaException(error.getCause().getMessage(), error.getCause());
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
