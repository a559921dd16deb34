/** What somebody wrote, as one line without controls and halves of characters; undefined when nothing is left of it. */
export const oneLine = (text: string | undefined): string | undefined =>
  text?.replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim() || undefined;
