package conformance.client;

import java.util.Locale;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.protocol.Errors;

/** What errors are called: as the protocol does; otherwise as the exception is, in capitals. */
final class ErrorNames {
    private ErrorNames() {}

    /** Return the name of an error: `FENCED_INSTANCE_ID`, `COMMIT_FAILED`, `ILLEGAL_STATE`. */
    static String of(RuntimeException error) {
        Throwable told = error;
        // A producer in an error state wraps what brought it there.
        while (told.getClass() == KafkaException.class && told.getCause() != null) {
            told = told.getCause();
        }
        Errors known = Errors.forException(told);
        if (known != Errors.UNKNOWN_SERVER_ERROR) {
            return known.name();
        }
        String words = told.getClass().getSimpleName().replaceFirst("Exception$", "");
        return words.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase(Locale.ROOT);
    }
}
