import { describe, expect, test } from "vitest";
import { concerns } from "../live/live";
import { changedOf } from "../live/stream";
import { aheadOf } from "./clock";
import { problemOf } from "./client";
import { branchURL, commitURL, fileURL, repoURL, webURL } from "./forge";

const gitea = { root: "http://localhost:3000/", files: "src/branch" };
const nowhere = { root: "", files: "" };

describe("links to the forge", () => {
  test("a repository by another name of the same machine", () => {
    expect(repoURL(gitea, "http://127.0.0.1:3000/org/platform.git")).toBe("http://localhost:3000/org/platform");
    expect(repoURL(gitea, "http://127.0.0.1:4000/org/platform.git")).toBe("http://127.0.0.1:4000/org/platform");
  });
  test("commits, files and folders", () => {
    expect(commitURL(gitea, "http://localhost:3000/org/x.git", "0123456789abcdef")).toBe("http://localhost:3000/org/x/commit/0123456789abcdef");
    expect(fileURL(gitea, { repo: "http://localhost:3000/org/x", branch: "dev", file: "a b/c#.yaml", line: 7 })).toBe("http://localhost:3000/org/x/src/branch/dev/a%20b/c%23.yaml#L7");
    expect(fileURL(nowhere, { repo: "https://github.com/org/x", branch: "dev", file: "c.yaml" })).toBe("https://github.com/org/x/blob/dev/c.yaml");
    expect(branchURL(nowhere, "https://github.com/org/x.git", "dev", "./large")).toBe("https://github.com/org/x/tree/dev/large");
    expect(branchURL(gitea, "http://localhost:3000/org/x", "dev")).toBe("http://localhost:3000/org/x/src/branch/dev");
  });
  test("a GitHub Enterprise of another name", () => {
    const enterprise = { root: "https://git.example.com", files: "blob" };
    expect(fileURL(enterprise, { repo: "https://git.example.com/org/x.git", branch: "dev", file: "c.yaml" })).toBe("https://git.example.com/org/x/blob/dev/c.yaml");
    expect(branchURL(enterprise, "https://git.example.com/org/x", "dev", "large")).toBe("https://git.example.com/org/x/tree/dev/large");
  });
  test("what is no address of the web has no page", () => {
    for (const repo of ["javascript:alert(1)", "data:text/html,x", "git@github.com:org/x.git", "/srv/git/x", "", undefined]) {
      expect(commitURL(nowhere, repo, "0123456789abcdef")).toBeUndefined();
    }
    expect(commitURL(nowhere, "https://github.com/org/x", "../../evil")).toBeUndefined();
  });
  test("a password in an address is shown to nobody", () => {
    expect(webURL("https://user:secret@github.com/org/x")?.href).toBe("https://github.com/org/x");
    expect(repoURL(nowhere, "https://user:secret@github.com/org/x")).toBe("https://github.com/org/x");
  });
});

describe("refusals", () => {
  test("a problem document", () => {
    const body = { title: "Not found", detail: "no environment deb", hint: "did you mean dev", instance: "r1", errors: [{ location: "query.env", message: "unknown", value: "deb" }] };
    expect(problemOf(404, "", body)).toMatchObject({ status: 404, title: "Not found", detail: "no environment deb; query.env: unknown", hint: "did you mean dev", request: "r1" });
  });
  test("anything else", () => {
    expect(problemOf(502, "Bad Gateway", "<html>")).toMatchObject({ status: 502, title: "Bad Gateway", detail: "" });
    expect(problemOf(500, "", null)).toMatchObject({ title: "status 500" });
  });
});

describe("the hub's clock", () => {
  const sent = Date.parse("2026-03-04T12:00:00Z");
  test("a browser's that is wrong", () => {
    expect(aheadOf("Wed, 04 Mar 2026 13:00:00 GMT", sent, sent + 100)).toBe(3_600_450);
    expect(aheadOf("Wed, 04 Mar 2026 11:00:00 GMT", sent, sent + 100)).toBe(-3_599_550);
  });
  test("what may be the way of the answer is no difference", () => {
    expect(aheadOf("Wed, 04 Mar 2026 12:00:01 GMT", sent, sent + 100)).toBe(0);
    expect(aheadOf("Wed, 04 Mar 2026 12:00:00 GMT", sent, sent + 10_000)).toBe(0);
    expect(aheadOf(null, sent, sent)).toBe(0);
    expect(aheadOf("soon", sent, sent)).toBe(0);
  });
});

describe("live events", () => {
  const items = (...environments: (string | undefined)[]) => JSON.stringify({ items: environments.map((environment) => ({ environment })) });
  test("of which environments", () => {
    expect(changedOf("placement", items("dev", "dev", "stage"))).toEqual({ kind: "changed", topic: "placement", environments: ["dev", "stage"], n: 3 });
    expect(changedOf("placement", items("dev", undefined))).toMatchObject({ environments: [] });
    expect(changedOf("placement", "no JSON")).toEqual({ kind: "changed", topic: "placement", environments: [], n: 1 });
  });
  test("which answers are old then", () => {
    const message = changedOf("placement", items("dev"));
    expect(concerns({ topics: ["placement"], environment: "dev" }, message)).toBe(true);
    expect(concerns({ topics: ["placement"], environment: "stage" }, message)).toBe(false);
    expect(concerns({ topics: ["placement"] }, message)).toBe(true);
    expect(concerns({ topics: ["problem"] }, message)).toBe(false);
    expect(concerns(undefined, message)).toBe(false);
    expect(concerns({ topics: ["problem"] }, { kind: "resync" })).toBe(true);
    expect(concerns(undefined, { kind: "resync" })).toBe(false);
  });
});
