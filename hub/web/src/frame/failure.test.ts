import { expect, test } from "vitest";
import { Failure } from "./failure";

const of = (page: string) => ({ page, children: null });

test("a page that fails is said to, until another is opened", () => {
  const error = new Error("no chunk");
  const failed = { ...Failure.getDerivedStateFromProps(of("/drift"), {}), ...Failure.getDerivedStateFromError(error) };
  expect(failed).toEqual({ of: "/drift", error });
  expect(Failure.getDerivedStateFromProps(of("/drift"), failed)).toBeNull();
  expect(Failure.getDerivedStateFromProps(of("/"), failed)).toEqual({ of: "/", error: undefined });
});
