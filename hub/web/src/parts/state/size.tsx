/** How many assignments a pull request adds, changes and removes. */
export function SizeText({ size }: { size: { added: number; changed: number; removed: number } | undefined }) {
  if (!size) return <>not known</>;
  const { added, changed, removed } = size;
  if (added + changed + removed === 0) return <>none</>;
  const parts = [
    { n: added, word: "added" },
    { n: changed, word: "changed" },
    { n: removed, word: "removed" },
  ];
  return <>{parts.filter(({ n }) => n > 0).map(({ n, word }) => `${n.toLocaleString("en")} ${word}`).join(", ")}</>;
}
