/** A limit on paths or addresses, as an author of `rules` writes it. */
export type WrittenPlace =
  | { readonly path: { readonly under: string } }
  | {
      readonly url: {
        readonly scheme: string;
        readonly host: string;
        readonly port?: number;
        readonly path?: { readonly under: string };
      };
    };
