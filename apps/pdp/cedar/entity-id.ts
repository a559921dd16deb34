import type { EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';

/** An entity whose name is in one form. */
export type Known = EntityJson & { uid: TypeAndId };

/**
 * AuthZEN names an entity by type and id, and types may be any text; Cedar types have to be identifiers. Every subject
 * is therefore a Cedar `Subject`, every resource a `Resource`, with `type|id` as id. The separator is escaped in both
 * parts, so that no two entities share a name (AZ-IM-04).
 */
export function entityId(entity: { type: string; id: string }): string {
  return `${escape(entity.type)}|${escape(entity.id)}`;
}

/** The AuthZEN type and id behind an entity id; undefined when it is not of that form. */
export function parseEntityId(id: string): { type: string; id: string } | undefined {
  const parts = id.split('|');
  const [type, name] = parts;
  if (parts.length !== 2 || type === undefined || name === undefined) return undefined;
  return { type: unescape(type), id: unescape(name) };
}

const escape = (text: string) => text.replaceAll('%', '%25').replaceAll('|', '%7C');
const unescape = (text: string) => text.replaceAll('%7C', '|').replaceAll('%25', '%');
