import rich_click as click


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell completion script.

    Example: `rolecall completion bash > ~/.local/share/bash-completion/completions/rolecall`
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made
    click.echo(made(context.find_root().command, {}, "rolecall", "_ROLECALL_COMPLETE").source())
