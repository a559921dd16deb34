type ColumnOf<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnOf<Rest>}`
  : Field;

/** A row of the table that a Prisma model describes, as `pg` reads it: by the names of its columns, with 64-bit numbers as text. */
export type RowOf<Model> = {
  readonly [Field in keyof Model & string as ColumnOf<Field>]: Model[Field] extends bigint ? string : Model[Field];
};
