import type { components, paths } from "./schema";

type Answer<P extends keyof paths> = paths[P] extends { get: { responses: { 200: { content: { "application/json": infer T } } } } } ? T : never;
type Item<P extends keyof paths> = Answer<P> extends { items: (infer T)[] | null } ? T : never;

export type Me = Answer<"/me">;
export type Environment = Item<"/environments">;
export type Matrix = Answer<"/environments/{env}/matrix">;
export type Placement = Item<"/placements">;
export type PlacementEvent = Item<"/placements/{environment}/{cluster}/{target}/events">;
export type Cluster = Item<"/clusters">;
export type Workload = Item<"/workloads">;
export type DriftGroup = Item<"/drift">;
export type Outlier = Item<"/outliers">;
export type Change = Item<"/changes">;
export type ChangeDetail = Answer<"/changes/{id}">;
export type ChangeLane = ChangeDetail["lanes"][number];
export type ChangeCluster = Item<"/changes/{id}/clusters">;
export type Comparison = Answer<"/compare">;
export type ComparisonRow = Item<"/compare">;
export type ModelProblem = Item<"/problems">;
export type PullRequest = Item<"/pull-requests">;
export type Source = Item<"/sources">;
export type Token = Item<"/tokens">;
export type AuditEntry = Item<"/audit">;
export type Sandbox = Answer<"/sandbox">;
export type Scenario = Item<"/workshop/scenarios">;
export type ScenarioDetail = Answer<"/workshop/scenarios/{name}">;
export type ScenarioStep = ScenarioDetail["steps"][number];
export type ScenarioBlock = ScenarioDetail["intro"][number];
export type StepCheck = Answer<"/workshop/scenarios/{name}/steps/{step}/check">;

/** A list as the API answers it. */
export interface List<T> {
  items: T[];
  next?: string;
  total?: number;
  asOf?: string;
}

export type Subscription = NonNullable<Answer<"/clusters/{name}">["subscriptions"]>[number];

export type Explanation = Answer<"/explain">;
export type Clause = Explanation["policies"][number]["clauses"][number];
export type Pair = NonNullable<Explanation["pair"]>;
/** What is wrong with the model, as an explanation has it. */
export type Finding = Explanation["problems"][number];
/** Where something is in a repository. */
export type Position = Explanation["controlPlane"];

/** Any object of an environment: what its kind does not have is absent. */
export type ObjectDocument = Partial<components["schemas"]["ObjectDocument"] & components["schemas"]["TargetDocument"] & components["schemas"]["AssignmentDocument"]>;

/** One change of an object of the platform model; the pages change no file as such. */
export type Edit = Omit<components["schemas"]["Edit"], "operation" | "path"> & { operation: Operation };
export type Operation = Exclude<components["schemas"]["Edit"]["operation"], "putFile">;
export type Plan = components["schemas"]["Plan"];
export type PlanAssignment = Plan["assignments"]["gained"][number];
export type PlanFile = Plan["files"][number];
export type PlanFinding = Plan["findings"][number];
/** What the API calls the kinds of objects that can be changed. */
export type EntityKind = paths["/environments/{env}/{kind}/{name}"]["get"]["parameters"]["path"]["kind"];
export type Against = Plan["against"];
export type Proposal = components["schemas"]["Proposal"];
export type ProposalInput = components["schemas"]["ProposalRequest"];
