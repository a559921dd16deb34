import * as z from 'zod';
import { PREVIEW_FAULTS } from '../../../workflows/domain/tools/preview.ts';
import type { SentPreviews } from '../stores/previews.ts';

const name = z.string().min(1).max(1_024);
/** A preview with more text or parts is not drawn. The gateway sends 64 KiB and 100 parts at most. */
const MAX_CHARACTERS = 65_536;
const MAX_PARTS = 100;
const count = z.number().int().min(0);

const part = z.union([
  z.object({ text: z.string().max(MAX_CHARACTERS) }),
  z.object({ type: z.string().max(64), characters: count }),
]);

/**
 * A preview of a call in `client.source` of its submission: the word of the tool's server, as the client passes it on. No denial binds it,
 * and it is not the call. A client need not send one.
 */
const preview = z
  .object({
    tool: name,
    arguments: z.record(z.string(), z.unknown()).default({}),
    taken_at: z.iso.datetime({ offset: true }).refine((at) => Date.parse(at) > 0),
    fault: z.enum(PREVIEW_FAULTS).optional(),
    is_error: z.boolean().optional(),
    digest: z
      .string()
      .regex(/^sha-256:[0-9a-f]{64}$/)
      .optional(),
    bytes: count.optional(),
    parts: z.array(part).max(MAX_PARTS).default([]),
    is_cut: z.boolean().default(false),
  })
  .refine(({ parts }) => parts.reduce((sum, one) => sum + ('text' in one ? one.text.length : 0), 0) <= MAX_CHARACTERS)
  .refine(({ fault, digest }) => (fault === undefined) === (digest !== undefined));

export type ShownPreview = z.infer<typeof preview>;

/** A preview, and the approver who asked for it. The one of the submission has none. */
export type TakenPreview = ShownPreview & { readonly askedBy?: string };

/** The readable previews of a request, for those who may see them. */
export interface ShownPreviews {
  readonly latest: TakenPreview;
  /** Newest first. */
  readonly earlier: readonly TakenPreview[];
  /** Whether the visitor may have it taken again. */
  readonly canBeTaken: boolean;
}

/** The preview that a client sent, if it can be read. A foreign client may mean something else by the member. */
export const readPreview = (sent: unknown): ShownPreview | undefined => preview.safeParse(sent).data;

/** All previews of a request that can be read, newest first. */
export function readPreviews({ first, further }: Pick<SentPreviews, 'first' | 'further'>): TakenPreview[] {
  const sent = [{ sent: first }, ...further];
  return sent
    .flatMap(({ sent: one, ...asked }) => {
      const read = readPreview(one);
      return read === undefined ? [] : [{ ...read, ...asked }];
    })
    .reverse();
}
