/** What a site answers instead of a page: a status, what is the matter, and what to do next. All of it is for people. */
export class Refusal extends Error {
  readonly status: number;
  readonly nextStep: string;
  /** Where the next step is taken. */
  readonly link: { readonly href: string; readonly label: string } | undefined;

  constructor(status: number, title: string, nextStep: string, link?: { href: string; label: string }) {
    super(title);
    this.name = 'Refusal';
    this.status = status;
    this.nextStep = nextStep;
    this.link = link;
  }
}
