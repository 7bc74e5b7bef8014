import type { Position } from "./types";

/** Where the forge has its pages. */
export interface Forge {
  /** The root of its pages, as a browser reaches it; "" where it is not known. */
  root: string;
  /** What is between a repository and a branch in the address of a file: "blob", or "src/branch". */
  files: string;
}

/** The page of a commit, or undefined where the repository has no pages that are known. */
export function commitURL(forge: Forge, repo: string | undefined, commit: string | undefined): string | undefined {
  const base = repoURL(forge, repo);
  return base && commit && /^[0-9a-f]{7,64}$/i.test(commit) ? `${base}/commit/${commit}` : undefined;
}

/** The page of a file at a line. */
export function fileURL(forge: Forge, at: Position | undefined): string | undefined {
  const base = repoURL(forge, at?.repo);
  if (!base || !at?.branch || !at.file) return undefined;
  const path = `${at.branch}/${at.file}`.split("/").map(encodeURIComponent).join("/");
  return `${base}/${filesOf(forge, base)}/${path}${at.line ? `#L${at.line}` : ""}`;
}

/** The page of a branch, or of a folder on it. */
export function branchURL(forge: Forge, repo: string | undefined, branch: string | undefined, path = ""): string | undefined {
  const base = repoURL(forge, repo);
  if (!base || !branch) return undefined;
  const folder = `${branch}/${path}`.split("/").filter((part) => part && part !== ".").map(encodeURIComponent).join("/");
  return `${base}/${filesOf(forge, base) === "blob" ? "tree" : filesOf(forge, base)}/${folder}`;
}

/** The page of a repository. What is no address of the web, such as one of ssh, has none. */
export function repoURL(forge: Forge, repo: string | undefined): string | undefined {
  const url = webURL(repo);
  if (!url) return undefined;
  const path = url.pathname.replace(/\/+$/, "").replace(/\.git$/, "");
  if (path === "") return undefined;
  const root = webURL(forge.root);
  // clusters know the forge by another name of the same machine than the browser does
  const origin = root && originOf(root) === originOf(url) ? root.origin : url.origin;
  return origin + path;
}

/** The address of a page that somebody else names: only those of the web are followed. */
export function webURL(text: string | undefined): URL | undefined {
  if (!text || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.username = "";
  url.password = "";
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

function originOf(url: URL): string {
  const loopback = url.hostname === "localhost" || url.hostname === "[::1]" || /^127\./.test(url.hostname);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return `${url.protocol}//${loopback ? "localhost" : url.hostname.replace(/^www\./, "")}:${port}`;
}

function filesOf(forge: Forge, base: string): string {
  const root = webURL(forge.root);
  if (forge.files && root && base.startsWith(root.origin)) return forge.files;
  return new URL(base).hostname.endsWith("github.com") ? "blob" : "src/branch";
}
