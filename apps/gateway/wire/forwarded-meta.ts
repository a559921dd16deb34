import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { BAGGAGE_META, TRACEPARENT_META, TRACESTATE_META } from './identifiers.ts';

/** Version, trace, parent and flags. A version after 00 may have more fields; ff is not a version. @see Trace Context, traceparent */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:(?<!^00.{53})-[!-~]{1,256})?$/;
/** @see Trace Context, tracestate */
const TRACESTATE_KEY = /^[a-z0-9][a-z0-9_\-*/@]{0,255}$/;
const TRACESTATE_VALUE = /^[!-+\--<>-~ ]{0,255}[!-+\--<>-~]$/;
const MAX_TRACESTATE_MEMBERS = 32;
/** @see Baggage, baggage string */
const BAGGAGE_KEY = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const BAGGAGE_VALUE = /^[!#-+\--:<-[\]-~]*$/;
const MAX_BAGGAGE_BYTES = 8_192;
const PRINTABLE = /^[\t -~]*$/;

/**
 * The part of a call's `_meta` that an upstream may see: trace context and baggage, which carry no authority. Values that break the W3C
 * syntax are dropped, and a `tracestate` without a valid `traceparent` too. @see SEP-414
 */
export function forwardedMeta(meta: Readonly<Record<string, unknown>> | undefined): JsonObject | undefined {
  const parent = textOf(meta?.[TRACEPARENT_META], (text) => TRACEPARENT.test(text));
  const state = parent && textOf(meta?.[TRACESTATE_META], isTracestate);
  const baggage = textOf(meta?.[BAGGAGE_META], isBaggage);
  const kept = {
    ...(parent !== undefined && { [TRACEPARENT_META]: parent }),
    ...(state !== undefined && { [TRACESTATE_META]: state }),
    ...(baggage !== undefined && { [BAGGAGE_META]: baggage }),
  };
  return Object.keys(kept).length > 0 ? kept : undefined;
}

const textOf = (value: unknown, hasForm: (text: string) => boolean) =>
  typeof value === 'string' && PRINTABLE.test(value) && hasForm(value) ? value : undefined;

function isTracestate(text: string): boolean {
  const members = text.split(',').map((member) => member.trim());
  const present = members.filter((member) => member !== '');
  return (
    present.length > 0 &&
    members.length <= MAX_TRACESTATE_MEMBERS &&
    present.every((member) => {
      const { key, value } = pair(member);
      return TRACESTATE_KEY.test(key) && value !== undefined && TRACESTATE_VALUE.test(value);
    })
  );
}

function isBaggage(text: string): boolean {
  if (text.length > MAX_BAGGAGE_BYTES) return false;
  return text.split(',').every((member) => {
    const parts = member.split(';').map(pair);
    const isEntry = parts[0]?.value !== undefined;
    return (
      isEntry && parts.every(({ key, value = '' }) => BAGGAGE_KEY.test(key.trim()) && BAGGAGE_VALUE.test(value.trim()))
    );
  });
}

/** Not a pattern: one with optional blanks on both sides of an optional value takes quadratic time over many blanks. */
function pair(text: string): { readonly key: string; readonly value?: string } {
  const at = text.indexOf('=');
  return at === -1 ? { key: text } : { key: text.slice(0, at), value: text.slice(at + 1) };
}
