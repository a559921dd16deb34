import { REQUIREMENTS_META } from './names.ts';
import type { ListedTool } from './tool.ts';

/**
 * What a client knows of requirements, by their exact text: `false` for one that it cannot meet, `true` for one that it may.
 * Those that it does not know are absent.
 */
export type KnownRequirements = ReadonlyMap<string, boolean>;

/** What a tool declares, or undefined when it declares nothing that can be read. @see SEP-2487 */
export function requirementsOf({ execution, _meta }: ListedTool): readonly string[] | undefined {
  const declared = (execution as { requirements?: unknown } | null | undefined)?.requirements;
  return textsIn(declared) ?? textsIn(_meta?.[REQUIREMENTS_META]);
}

/**
 * Whether a call of the tool would certainly be refused, so that a client may leave it out, rank it lower or avoid it. True
 * only when every requirement is known and one of them cannot be met; in any other case the client has to behave as if
 * nothing were declared. It is no statement about permission, and the server decides in any case.
 * @see SEP-2487, Client Behavior (REQ-008 to REQ-011)
 */
export function isBoundToFail(tool: ListedTool, known: KnownRequirements): boolean {
  const requirements = requirementsOf(tool) ?? [];
  return requirements.every((one) => known.has(one)) && requirements.some((one) => known.get(one) === false);
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}
