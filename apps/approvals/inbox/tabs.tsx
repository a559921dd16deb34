const TABS = [
  ['yours', '/requests?status=yours', 'Yours to decide'],
  ['pending', '/requests', 'Open'],
  ['ended', '/requests?status=ended', 'Ended'],
  ['delegations', '/delegations', 'Out of office'],
] as const;

/** Where one is in the inbox, and where else one can go. */
export function InboxTabs({ current }: { current: (typeof TABS)[number][0] }) {
  return (
    <nav class="tabs" aria-label="Parts of the inbox">
      {TABS.map(([name, href, label]) => (
        <a key={name} href={href} {...(name === current && { 'aria-current': 'page' })}>
          {label}
        </a>
      ))}
    </nav>
  );
}
