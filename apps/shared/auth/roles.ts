/** Roles in a token attribute: a list of texts, or one text with blanks between, as issuers differ. Nothing else counts. */
export function rolesOf(attribute: unknown): string[] {
  if (typeof attribute === 'string') return attribute.split(' ').filter((role) => role !== '');
  return Array.isArray(attribute) ? attribute.filter((role): role is string => typeof role === 'string') : [];
}
