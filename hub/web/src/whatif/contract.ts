/** The paths of the API that are not in its document yet, as openapi-typescript would write them. */

export type Operation = "setLabel" | "removeLabel" | "setSelector" | "setConfigKey" | "removeConfigKey" | "putObject" | "deleteObject";

/** One change of the platform model. */
export interface Edit {
  operation: Operation;
  kind?: string;
  name?: string;
  /** Of a label, a configuration key or a selector. */
  key?: string;
  value?: string;
  /** YAML of an object or of a selector. */
  content?: string;
}

export type Against = "planned" | "merged" | "running";

export interface PlanInput {
  environment: string;
  /** The head when the edits were begun; absent for the one of now. */
  base?: string;
  edits: Edit[];
  against?: Against;
}

export interface PlanAssignment {
  clusterType: string;
  target: string;
  workload: string;
  workspace: string;
  policies: string[];
  /** At most 50 of them. */
  clusters: string[];
  clusterCount: number;
}

export interface PlanFile {
  path: string;
  change: "added" | "changed" | "removed";
  clusterType?: string;
  target?: string;
  /** Empty where there are too many files. */
  diff: string;
}

export interface PlanFinding {
  rule: string;
  severity: "error" | "warning" | "note";
  place: string;
  file?: string;
  line?: number;
  message: string;
  hint?: string;
  /** It is not there without the edits. */
  new: boolean;
}

export interface Plan {
  environment: string;
  against: Against;
  controlPlane: string;
  branch: string;
  base: string;
  head: string;
  stale: boolean;
  moved: number;
  /** Whether a file of the control plane changes. */
  changed: boolean;
  source: { files: PlanFile[] };
  /** Of a large fleet the lists have the first 1000. */
  assignments: { gained: PlanAssignment[]; lost: PlanAssignment[]; changed: PlanAssignment[]; gainedCount: number; lostCount: number; changedCount: number; same: number };
  configuration: { clusterType: string; target: string; key: string; before?: string; after?: string; place: string }[];
  files: PlanFile[];
  fileCount: number;
  summary: string;
  findings: PlanFinding[];
  policyTests: { passed: number; notRun: number; failed: { name: string; place: string; message: string; hint?: string }[] };
  massRemoval?: { count: number; of: number };
  unchangedBecause?: string;
}

export interface ProposalInput {
  environment: string;
  edits: Edit[];
  title: string;
  text?: string;
  confirm?: string;
}

export interface Proposal {
  id: string;
  environment: string;
  state: "open" | "merged" | "closed";
  number: number;
  url: string;
  title: string;
  text: string;
  author: string;
  createdAt: string;
  mergedAt?: string;
  repository: string;
  branch: string;
  base: string;
  /** It waits for the approval of somebody else than its author. */
  fourEyes: boolean;
}

export interface Entity {
  environment: string;
  kind: string;
  name: string;
  repository: string;
  branch: string;
  head: string;
  file: string;
  line: number;
  yaml: string;
  object: Record<string, unknown>;
  schema: Record<string, unknown>;
}

interface Responses<T> {
  responses: { 200: { headers: Record<string, unknown>; content: { "application/json": T } }; default: { headers: Record<string, unknown>; content: { "application/problem+json": Record<string, unknown> } } };
}

/** The paths as openapi-typescript writes them. */
export interface ContractPaths {
  "/plans": { post: { parameters: { query?: { file?: string[] } }; requestBody: { content: { "application/json": PlanInput } } } & Responses<Plan> };
  "/proposals": {
    get: { parameters: { query?: { env?: string; state?: string[]; limit?: number; after?: string } } } & Responses<List<Proposal>>;
    post: { parameters: { header: { "Idempotency-Key": string; "If-Match"?: string } }; requestBody: { content: { "application/json": ProposalInput } } } & Responses<Proposal>;
  };
  "/proposals/{id}": { delete: { parameters: { path: { id: string } } } & Responses<never> };
  "/environments/{env}/{kind}/{name}": { get: { parameters: { path: { env: string; kind: string; name: string } } } & Responses<Entity> };
  "/schemas/{kind}": { get: { parameters: { path: { kind: string } } } & Responses<Record<string, unknown>> };
}

export interface List<T> {
  items: T[];
  next?: string;
  total?: number;
  asOf?: string;
}
