import { Group, Table, Text, UnstyledButton } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { List } from "../../api/types";
import { useFilters } from "../../filters/use-filters";
import { count } from "../../words/text";
import { clockText, parseTime } from "../../words/time";
import { CSV, More } from "./list-buttons";
import { Failed, Loading } from "../notices";
import "./list-table.css";

/** A column of a table. */
export interface Column<T> {
  title: string;
  /** The orders that the API has for it, such as "-since" and "since"; the first press takes the first. */
  sorts?: string[];
  /** A column of figures. */
  figures?: boolean;
  cell(item: T): ReactNode;
}

interface ListedProps<T> {
  /** What the items are, one and many. */
  of: [one: string, many: string];
  query: UseInfiniteQueryResult<InfiniteData<List<T>>>;
  /** The address of the whole list as CSV. */
  csv?: string;
  empty: ReactNode;
  children(items: T[]): ReactNode;
}

/** A list of the API, paged by the server: its items, how many there are, and the way to more. */
export function Listed<T>({ of, query, csv, empty, children }: ListedProps<T>) {
  const pages = query.data?.pages ?? [];
  const items = pages.flatMap((page) => page.items);
  const asOf = parseTime(pages[0]?.asOf);
  const total = pages[0]?.total;
  return (
    <>
      {query.isError && <Failed what={of[1]} asked={query} />}
      {query.isPending && <Loading />}
      {query.data && items.length === 0 && empty}
      {items.length > 0 && (
        // the filters are others already, and these are of those before
        <div className={query.isPlaceholderData ? "old-answer" : undefined} aria-busy={query.isPlaceholderData}>
          {children(items)}
          <Group justify="space-between" mt="xs">
            <Text size="sm" role="status">
              {total !== undefined && total >= items.length ? `${items.length} of ${count(total, of[0], of[1])}` : count(items.length, of[0], of[1])}
              {asOf && `, as of ${clockText(asOf, new Date())}`}
            </Text>
            <Group gap="xs">
              {csv && <CSV path={csv} />}
              <More query={query} />
            </Group>
          </Group>
        </div>
      )}
    </>
  );
}

interface TableProps<T> {
  columns: Column<T>[];
  rowKey(item: T): string;
  /** A class of the item's row. */
  rowClass?(item: T): string | undefined;
}

/** A list of the API as a table, sorted by the server. */
export function ListTable<T>({ columns, rowKey, rowClass, ...listed }: Omit<ListedProps<T>, "children"> & TableProps<T>) {
  return <Listed {...listed}>{(items) => <Rows label={listed.of[1]} columns={columns} items={items} rowKey={rowKey} rowClass={rowClass} />}</Listed>;
}

interface RowsProps<T> extends TableProps<T> {
  /** What the rows are, for screen readers. */
  label: string;
  items: T[];
}

/** The table alone, of rows that are all there. */
export function Rows<T>({ label, columns, items, rowKey, rowClass }: RowsProps<T>) {
  return (
    // a region that scrolls must be reached by keyboard
    <div className="list-table" tabIndex={0} role="region" aria-label={`Table of ${label}`}>
      <Table striped stickyHeader={false} verticalSpacing={6} fz="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Header key={column.title} column={column} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((item) => (
            <Table.Tr key={rowKey(item)} className={rowClass?.(item)}>
              {columns.map((column) => (
                <Table.Td key={column.title} className={column.figures ? "figures" : undefined}>
                  {column.cell(item)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Header<T>({ column: { sorts, title, figures } }: { column: Column<T> }) {
  const [filters, change] = useFilters();
  const className = figures ? "figures" : undefined;
  if (!sorts) {
    return (
      <Table.Th scope="col" className={className}>
        {title}
      </Table.Th>
    );
  }
  const at = sorts.indexOf(filters.sort);
  const [aria, mark] = at < 0 ? (["none", "↕"] as const) : filters.sort.startsWith("-") ? (["descending", "▼"] as const) : (["ascending", "▲"] as const);
  return (
    <Table.Th scope="col" aria-sort={aria} className={className}>
      <UnstyledButton className="sort" onClick={() => change({ sort: sorts[(at + 1) % sorts.length] ?? "" })}>
        {title} <span aria-hidden="true">{mark}</span>
      </UnstyledButton>
    </Table.Th>
  );
}
