package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.function.Function;

/** Some of what an application can be told to do. */
interface Verbs {
    /** Add a function for each verb: from its arguments to what it answers, null where that is nothing. */
    void addTo(Map<String, Function<JsonNode, Object>> verbs);
}
