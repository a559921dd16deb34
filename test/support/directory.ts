const CORE = 'urn:ietf:params:scim:schemas:core:2.0:';

/** A SCIM user whose `userName` is its id by default. */
export const aUser = (id: string, rest: Readonly<Record<string, unknown>> = {}) => ({
  schemas: [`${CORE}User`],
  id,
  userName: id,
  ...rest,
});

/** A SCIM group named by its id, with members by theirs. */
export const aGroup = (id: string, members: readonly string[]) => ({
  schemas: [`${CORE}Group`],
  id,
  displayName: id,
  members: members.map((value) => ({ value })),
});

/** A directory's export: a SCIM list. */
export const directoryText = (...resources: object[]): string =>
  JSON.stringify({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: resources.length,
    Resources: resources,
  });
