package conformance.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;

/** The start offsets of a share group, as releases from 4.2 on tell them. */
final class ShareOffsets {
    private ShareOffsets() {}

    static List<List<Object>> of(Admin admin, String group) {
        var listed = admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()));
        var told = new ArrayList<List<Object>>();
        Waiting.result(listed.partitionsToOffsetInfo(group)).forEach((partition, each) ->
                told.add(Partitions.withOffset(partition, each == null ? null : each.startOffset())));
        return told;
    }
}
