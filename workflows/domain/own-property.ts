/**
 * The member of a record that it has itself; `undefined` when it has none. Names come from outside, and every object inherits
 * a `constructor`.
 */
export const ownProperty = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
