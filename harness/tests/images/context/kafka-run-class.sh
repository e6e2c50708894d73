#!/bin/bash
# Runs a class of Kafka's: kafka-run-class.sh CLASS [ARGUMENT…]
set -euo pipefail
# The options are lists of words.
# shellcheck disable=SC2086
exec java ${KAFKA_HEAP_OPTS:-} ${KAFKA_JVM_PERFORMANCE_OPTS:-} ${KAFKA_GC_LOG_OPTS:-} ${KAFKA_JMX_OPTS:-} \
    ${KAFKA_OPTS:-} -Dorg.slf4j.simpleLogger.showDateTime=true \
    -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS -cp '/opt/kafka/libs/*' "$@"
