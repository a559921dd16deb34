/** Ids of the forms that decide a request. They send fields that stand elsewhere on the page, too. */
export const DECIDING_FORMS = ['vote-form', 'grant-form'] as const;
