import type { Pool } from 'pg';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import {
  isAsPinned,
  type AcceptedTools,
  type PinnedTool,
  type ToolPins,
} from '../../workflows/domain/tools/signature.ts';
import { query } from './query.ts';

const COLUMNS = 'name, upstream, upstream_tool AS "upstreamTool", digest';
const ALL = `SELECT ${COLUMNS}, definition FROM gateway.pinned_tool ORDER BY name`;
const NAMED = `SELECT ${COLUMNS} FROM gateway.pinned_tool WHERE name = ANY ($1)`;
const ADD = 'SELECT gateway.pin_tools($1, $2, $3, $4, $5)';
const ACCEPT = 'SELECT gateway.accept_tools($1, $2, $3, $4, $5, $6)';

type Row = Omit<PinnedTool, 'definition'> & { readonly definition: string };

/** The pinned tools, which the operator may change. */
export interface StoredPins extends ToolPins {
  /** Pins the tools as they are described, in place of what was pinned under their names, and forgets those that are gone. */
  accept(tools: readonly PinnedTool[], gone: readonly string[]): Promise<void>;
}

/** @param pool For `accept`, connections of the owner of the tables. */
export function createToolPins(pool: Pool): StoredPins {
  return {
    async all() {
      const rows = await query<Row>(pool, 'pinned-tools', ALL);
      return rows.map((row) => ({ ...row, definition: JSON.parse(row.definition) as JsonObject }));
    },
    async add(tools) {
      await query(pool, 'pin-tools', ADD, columnsOf(tools));
    },
    async accept(tools, gone) {
      await query(pool, 'accept-tools', ACCEPT, [...columnsOf(tools), gone]);
    },
  };
}

/** The pinned tools for whoever looks at one now and then: what is pinned is read each time. */
export function createAcceptedTools(pool: Pool): AcceptedTools {
  return {
    async among(tools) {
      const names = tools.map(({ name }) => name);
      const rows = await query<Omit<PinnedTool, 'definition'>>(pool, 'pins-of-tools', NAMED, [names]);
      return tools.filter((tool) => rows.some((pinned) => isAsPinned(tool, pinned)));
    },
  };
}

const columnsOf = (tools: readonly PinnedTool[]): unknown[] => [
  tools.map(({ name }) => name),
  tools.map(({ upstream }) => upstream),
  tools.map(({ upstreamTool }) => upstreamTool),
  tools.map(({ definition }) => canonicalJson(definition)),
  tools.map(({ digest }) => digest),
];
