// query.mjs SQL: what DuckDB answers, a row of JSON a line.
import { DuckDBInstance } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create(":memory:")).connect();
const answer = await connection.runAndReadAll(process.argv[2]);
for (const row of answer.getRowObjectsJson()) console.log(JSON.stringify(row));
