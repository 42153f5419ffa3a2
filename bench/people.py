"""Write a file of people for an identity source, with rows about as long as the accounts of `bench.imports`."""

from pathlib import Path

COLUMNS = [
    "Employee ID", "First Name", "Last Name", "Email", "Title", "Company", "Division", "Department", "Office",
    "Supervisor ID", "Type", "Status", *(f"Custom Field {n}" for n in range(1, 10)),
]  # fmt: skip
# The number of people who report to one supervisor.
SPAN = 8


def people(count: int) -> list[str]:
    return [
        ",".join(
            [
                f"{count}-{i:07d}", f"First{i % 5000}", f"Last{i}", f"person{i}@corp.example.com", f"Title {i % 300}",
                "Example Corp", f"Division {i % 12}", f"Department {i % 200}", f"Office {i % 40}",
                f"{count}-{(i - 1) // SPAN:07d}" if i else "", "Employee", "Active",
                *(f"custom field {n} of person {i}" for n in range(1, 10)),
            ]
        )
        for i in range(count)
    ]  # fmt: skip


def write_people(path: Path, count: int) -> Path:
    path.write_text("\n".join([",".join(COLUMNS), *people(count), ""]))
    return path
