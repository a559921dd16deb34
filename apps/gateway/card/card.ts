import type { CallToolResult, ReadResourceResult } from '@modelcontextprotocol/server';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isTerminal, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import type { AcceptedDescription, DescribedKind } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { packagePath } from '../../shared/config/files.ts';
import { APP_MIME_TYPE, CARD_ADDRESS, HELD_CALL_META } from '../wire/identifiers.ts';
import { statementForCard } from '../wire/render-request.ts';

/** It reaches no network, and asks for no permission. */
const UI_META: JsonObject = {
  ui: {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    prefersBorder: true,
  },
};

/**
 * The card of a held call, as clients see it in lists: a page for hosts of MCP Apps, which is the same for every call. It is the gateway's
 * own, so no policy is asked about it, as none is about the gateway's own tools.
 *
 * @see SEP-1865, UI resource format
 */
const CARD_DEFINITION: JsonObject = {
  uri: CARD_ADDRESS,
  name: 'held-call',
  title: 'Held call',
  description: 'Shows a call that waits for an approval. It decides nothing.',
  mimeType: APP_MIME_TYPE,
  _meta: UI_META,
};

/** The gateway's own items of a kind, as lists and the signature have them. */
export const ownItems = (kind: DescribedKind): readonly Pick<AcceptedDescription, 'kind' | 'name' | 'definition'>[] =>
  kind === 'resource' ? [{ kind, name: CARD_ADDRESS, definition: CARD_DEFINITION }] : [];

/** The answer to `resources/read` for the card. */
export function createCard(): () => ReadResourceResult {
  const text = cardDocument();
  return () => ({ contents: [{ uri: CARD_ADDRESS, mimeType: APP_MIME_TYPE, text, _meta: UI_META }] });
}

/** The card, with all its parts. Its own content security policy allows exactly these, and that of the host can only allow less. */
function cardDocument(): string {
  const [style, script, body] = ['style.css', 'script.js', 'body.html'].map(read) as [string, string, string];
  const policy = [
    "default-src 'none'",
    `script-src '${sourceHash(script)}'`,
    `style-src '${sourceHash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>Held call</title>',
    `<style>${style}</style>`,
    '</head>',
    `<body>${body}<script type="module">${script}</script></body>`,
    '</html>',
  ].join('\n');
}

const read = (file: string) => readFileSync(packagePath('apps', 'gateway', 'card', file), 'utf8');

/** @see Content Security Policy Level 3, hash-source */
const sourceHash = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** The states as the card knows them. */
const STATES = {
  preparing: 'waiting',
  pending: 'waiting',
  input_required: 'asks',
  granted: 'checking',
  claimed: 'running',
  executed: 'ran',
  execution_error: 'error',
  outcome_unknown: 'unknown',
  denied: 'refused',
  cancelled: 'cancelled',
  failed: 'failed',
} as const satisfies Record<GatedCallState, string>;

/**
 * An answer about a held call, with what its card shows: in the metadata, where no upstream can write it and no model reads it. While the
 * call is held, the answer names the card as well. The result of a tool that ran may have a page of its own.
 *
 * @param readAt When the call was in this state, in milliseconds since 1970.
 */
export function withCard(answer: CallToolResult, view: GatedCallView, readAt: number): CallToolResult {
  const { tool, state, requestRef: reference, decideBy, approvalPage: page } = view;
  const shown = {
    ...{ tool, state: STATES[state], statement: statementForCard(view), reference },
    ...(decideBy !== undefined && { decideBy }),
    ...(page !== undefined && { page }),
    readAt: new Date(readAt).toISOString(),
  };
  const card = isTerminal(state) ? {} : { ui: { resourceUri: CARD_ADDRESS } };
  return { ...answer, _meta: { ...answer._meta, ...card, [HELD_CALL_META]: shown } };
}
