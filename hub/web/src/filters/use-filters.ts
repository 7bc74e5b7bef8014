import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { type Filters, filtersOf, withFilters } from "./filters";

/** The filters in the URL, and a function that changes some of them. */
export function useFilters(): [Filters, (change: Partial<Filters>) => void] {
  const [search, setSearch] = useSearchParams();
  const filters = useMemo(() => filtersOf(search), [search]);
  const change = useCallback((next: Partial<Filters>) => setSearch((now) => withFilters(now, next), { replace: true }), [setSearch]);
  return [filters, change];
}

/** One value of the URL's search that is no filter, "" where it is not there. */
export function useParameter(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setSearch(
        (now) => {
          const next = new URLSearchParams(now);
          if (value) next.set(name, value);
          else next.delete(name);
          return next;
        },
        { replace: true },
      ),
    [name, setSearch],
  );
  return [search.get(name) ?? "", set];
}
