interface Timed {
  /** The end of the open stage, RFC 3339; absent if the stage has the time of its request. */
  readonly stageEndsAt?: string | undefined;
  readonly expiresAt: string;
}

/**
 * Until when the people of the open stage can decide, RFC 3339: the end of their stage, or that of the request if it is earlier. It is the
 * one deadline that pages, lists and messages name.
 */
export function decideBefore({ stageEndsAt, expiresAt }: Timed): string {
  return stageEndsAt !== undefined && Date.parse(stageEndsAt) < Date.parse(expiresAt) ? stageEndsAt : expiresAt;
}
