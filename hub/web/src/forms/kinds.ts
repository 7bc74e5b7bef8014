import { type ObjectKind, objectKinds } from "../api/queries";
import type { EntityKind } from "../api/types";
import type { ModelDocument } from "./document";

/** A kind of objects that can be changed. */
export interface Kind {
  kind: string;
  /** What the API calls them. */
  plural: EntityKind;
  /** The list of them; undefined where the API has none, since an environment has one. */
  list?: ObjectKind;
  /** What a page calls one, and many. */
  one: string;
  many: string;
}

const listed = (kind: string, list: ObjectKind & EntityKind, one: string): Kind => ({ kind, plural: list, list, one, many: objectKinds[list] });

export const kinds: Kind[] = [
  listed("ClusterType", "clustertypes", "cluster type"),
  listed("SchedulingPolicy", "policies", "scheduling policy"),
  listed("ConfigMap", "configs", "configuration"),
  listed("ConfigSchema", "schemas", "configuration schema"),
  listed("Template", "templates", "template"),
  listed("WorkloadRegistration", "registrations", "registration"),
  listed("Rollout", "rollouts", "rollout"),
  { kind: "BaseRepo", plural: "baserepos", one: "base repository", many: "Base repositories" },
  { kind: "GitOpsRepo", plural: "gitopsrepos", one: "GitOps repository", many: "GitOps repositories" },
];

export function kindOf(name: string): Kind | undefined {
  return kinds.find((one) => one.kind === name);
}

export function kindOfList(list: string): Kind | undefined {
  return kinds.find((one) => one.list === list);
}

/** The label by which a ConfigMap is platform configuration. */
const platformConfig = { "platform-config": "true" };

/** A new object, with nothing in it yet but what makes it one of its kind. */
export function newDocument(kind: string, name: string): ModelDocument {
  if (kind === "ConfigMap") return { apiVersion: "v1", kind, metadata: { name, labels: platformConfig }, data: {} };
  return { apiVersion: "scheduler.kalypso.io/v1alpha1", kind, metadata: { name }, spec: {} };
}

/** The fields that name templates, and of which type. */
export const templateFields: Record<string, string> = { reconciler: "reconciler", namespaceService: "namespace", configType: "config" };
