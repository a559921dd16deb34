// The ring's ports pass signals through. Elsewhere Node's own declaration adds the other members.
interface AbortSignal {
  readonly aborted: boolean;
}
