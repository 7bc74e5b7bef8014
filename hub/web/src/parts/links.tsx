import { Anchor, Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Position } from "../api/types";
import { branchURL, commitURL, fileURL, type Forge, webURL } from "../api/forge";
import { me } from "../api/queries";
import { href, pathOf } from "../filters/filters";
import { plain, shortCommit } from "../words/text";

/** Where the forge has its pages. */
export function useForge(): Forge {
  const links = useQuery(me).data?.links;
  return { root: links?.forge ?? "", files: links?.forgeFiles ?? "" };
}

/** A link to another site, or the text alone where there is no address. */
export function Outside({ url, children }: { url: string | undefined; children: ReactNode }) {
  const safe = webURL(url);
  if (!safe) return <>{children}</>;
  return (
    <Anchor href={safe.href} target="_blank" rel="noreferrer" inherit>
      {children}
    </Anchor>
  );
}

/** A link to a page of the hub. */
export function To({ path, children }: { path: string; children: ReactNode }) {
  return (
    <Anchor component={Link} href={path} inherit>
      {children}
    </Anchor>
  );
}

export function CommitLink({ repo, commit }: { repo: string | undefined; commit: string | undefined }) {
  const forge = useForge();
  if (!commit) return null;
  return (
    <Outside url={commitURL(forge, repo, commit)}>
      <Code>{shortCommit(plain(commit))}</Code>
    </Outside>
  );
}

/** The version, and the commit that it is of. */
export function RevisionText({ revision }: { revision: { repo?: string; commit?: string; version?: string } | undefined }) {
  if (!revision?.version && !revision?.commit) return <>not known</>;
  return (
    <Text span size="sm">
      {plain(revision.version)} <CommitLink repo={revision.repo} commit={revision.commit} />
    </Text>
  );
}

/** A pull request by its number. */
export function PullRequestLink({ one }: { one: { pullRequest: number; url: string } }) {
  return <Outside url={one.url}>#{one.pullRequest}</Outside>;
}

/** The changes that have a commit. */
export function ChangesLink({ env, commit }: { env: string; commit: string | undefined }) {
  if (!commit) return null;
  return <To path={href("/changes", { ...(env ? { env } : {}), q: commit })}>change</To>;
}

export function BranchLink({ repo, branch, path }: { repo: string | undefined; branch: string | undefined; path?: string }) {
  const forge = useForge();
  return (
    <Outside url={branchURL(forge, repo, branch, path)}>
      {plain(branch)}
      {path && path !== "." && `: ${plain(path)}`}
    </Outside>
  );
}

/** A file with its line. */
export function PositionLink({ at }: { at: Position | undefined }) {
  const forge = useForge();
  if (!at?.file) return null;
  return (
    <Outside url={fileURL(forge, at)}>
      <Code>
        {plain(at.file)}
        {at.line ? `:${at.line}` : ""}
      </Code>
    </Outside>
  );
}

export function ClusterLink({ name }: { name: string }) {
  return <To path={`/clusters${pathOf(name)}`}>{plain(name)}</To>;
}

export function WorkloadLink({ name }: { name: string }) {
  return <To path={`/workloads${pathOf(name)}`}>{plain(name)}</To>;
}

/** Why a target is, or is not, on a cluster type. */
export function assignmentPath(env: string, target: string, clusterType: string): string {
  return href("/assignments", { env, target, ...(clusterType ? { clusterType } : {}) });
}
