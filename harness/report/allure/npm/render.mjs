// Renders Allure's pages: node render.mjs ALLURES_CORE CONFIGURATION RESULTS
// `allure generate` takes neither environments from data nor a quality gate that was decided elsewhere.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [core, configuration, results] = process.argv.slice(2);
const { AllureReport, resolveConfig } = await import(pathToFileURL(core));
const { targets, gate, ...config } = JSON.parse(await readFile(configuration, "utf8"));
const isOf = (target) => ({ labels }) => labels.some(({ name, value }) => name === "parentSuite" && value === target);
config.environments = Object.fromEntries(
  targets.map(({ id, name, target, variables }) => [id, { name, variables, matcher: isOf(target) }]),
);
const report = new AllureReport(await resolveConfig(config));
await report.start();
await report.readDirectory(results);
report.realtimeDispatcher.sendQualityGateResults(gate);
await report.done();
