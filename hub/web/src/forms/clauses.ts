import { isRecord } from "./fields";

/** What a clause asks of a label. */
export const operators = { "=": "is", In: "is one of", NotIn: "is none of", Exists: "is there", DoesNotExist: "is not there" } as const;
export type Operator = keyof typeof operators;

/** One condition on labels. */
export interface Clause {
  key: string;
  operator: Operator;
  values: string[];
}

/** Whether a clause names values. */
export function hasValues(operator: Operator): boolean {
  return operator !== "Exists" && operator !== "DoesNotExist";
}

/** The clauses of a label selector, or undefined where a form cannot show it. */
export function clausesOf(selector: unknown): Clause[] | undefined {
  if (selector === undefined || selector === null) return [];
  if (!isRecord(selector) || Object.keys(selector).some((key) => key !== "matchLabels" && key !== "matchExpressions")) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isRecord(matchLabels) || !Array.isArray(matchExpressions)) return undefined;
  const clauses = Object.entries(matchLabels).map(([key, value]): Clause => ({ key, operator: "=", values: [String(value)] }));
  for (const one of matchExpressions as unknown[]) {
    if (!isRecord(one) || typeof one.key !== "string" || typeof one.operator !== "string" || !Object.hasOwn(operators, one.operator)) return undefined;
    clauses.push({ key: one.key, operator: one.operator as Operator, values: Array.isArray(one.values) ? one.values.map(String) : [] });
  }
  return clauses;
}

/** Whether a clause has a key, and the values that it needs. */
export function isWhole({ key, operator, values }: Clause): boolean {
  return key !== "" && (!hasValues(operator) || values.length > 0);
}

/** The label selector of clauses. One that is not whole is not written yet. */
export function selectorOf(clauses: Clause[]): Record<string, unknown> {
  const whole = clauses.filter(isWhole);
  // matchLabels has a key once; what asks for another value of it as well is an expression
  const isLabel = (one: Clause, index: number) => one.operator === "=" && whole.findIndex((other) => other.operator === "=" && other.key === one.key) === index;
  const labels = whole.filter(isLabel).map((one) => [one.key, one.values[0]] as const);
  const expressions = whole
    .filter((one, index) => !isLabel(one, index))
    .map(({ key, operator, values }) => ({ key, operator: operator === "=" ? "In" : operator, ...(hasValues(operator) ? { values } : {}) }));
  return { ...(labels.length > 0 ? { matchLabels: Object.fromEntries(labels) } : {}), ...(expressions.length > 0 ? { matchExpressions: expressions } : {}) };
}
