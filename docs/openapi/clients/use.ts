// What a TypeScript program does with the client that openapi-typescript makes of openapi.json. "make clients" compiles it.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers: { Authorization: "Bearer ph_…" } });

export async function send(draft: components["schemas"]["Draft"]): Promise<string[]> {
  const { data, error } = await client.POST("/v1/messages", { body: draft });
  if (error) {
    throw new Error(error.problems?.map((p) => `${p.path} ${p.message}`).join("; ") ?? error.detail);
  }
  const accepted: components["schemas"]["Accepted"][] = "messages" in data ? data.messages : [data];
  return accepted.map((a) => a.id);
}

export async function failed(channel: string): Promise<components["schemas"]["Delivery"][]> {
  const { data } = await client.GET("/v1/deliveries", { params: { query: { channel, state: "failed", limit: 100 } } });
  return data?.items ?? [];
}

export async function fetchTasks(app: string): Promise<number> {
  const { data } = await client.GET("/api/v1/sms/tasks/pending", { params: { query: { app_id: app } } });
  return data?.data.length ?? 0;
}

await send({ channel: "desk", to: [{ user: "li.na" }], content: { text: "Your shift starts at 18:00." }, priority: "high" });
